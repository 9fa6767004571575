/*
 * A bit-field prints as an integer of its own width and signedness.
 * @flags: -q
 */
struct bits { int a : 4; unsigned b : 4; };
struct bits v;
BEGIN { v.a = -2; v.b = 9; printf("%d %d %x\n", v.a, v.b, v.b); exit(0); }
