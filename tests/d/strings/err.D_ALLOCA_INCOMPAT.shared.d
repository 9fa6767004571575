/* A variable that holds a pointer from alloca may hold no other pointer. */
char *p;
BEGIN { p = (char *)100; p = (char *)alloca(8); }
