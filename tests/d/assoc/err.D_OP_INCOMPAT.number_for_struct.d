/* 0 can be assigned to a structure only in an associative array. */
struct pair { int a; int b; } x;
BEGIN { x = 0; }
