/* Pointers to different structs cannot be compared. */
struct a { int a; };
struct b { int b; };
struct a *p;
struct b *q;
BEGIN { x = p == q; }
