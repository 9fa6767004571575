/* The members of a struct without a body are unknown. */
struct later;
struct later *p;
BEGIN { exit(p->a); }
