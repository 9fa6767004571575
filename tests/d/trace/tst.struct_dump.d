/*
 * A struct whose bytes are not text is dumped in hexadecimal.
 * @flags: -q
 */
struct s { int a; int b; };
struct s v;

BEGIN { v.a = 1; v.b = 0x41424344; trace(v); exit(0); }
