/* A variable that holds a pointer from alloca cannot also hold another pointer. */
char *p;
BEGIN { p = (char *)100; p = (char *)alloca(8); }
