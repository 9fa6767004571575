/* 0 cannot be assigned to a global variable that is a structure. */
struct pair { int a; int b; } x;
BEGIN { x = 0; }
