/* A bit-field has no address. */
struct s { int a : 3; };
struct s *p;
BEGIN { trace((uintptr_t)&p->a); }
