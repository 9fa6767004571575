/* The members of a struct without body are not known. */
struct later;
struct later *p;
BEGIN { exit(p->a); }
