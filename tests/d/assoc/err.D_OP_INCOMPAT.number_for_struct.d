/* 0 is nothing that a structure outside of an associative array can hold. */
struct pair { int a; int b; } x;
BEGIN { x = 0; }
