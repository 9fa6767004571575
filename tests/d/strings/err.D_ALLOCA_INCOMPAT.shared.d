/* A variable that holds a pointer of alloca holds nothing else. */
char *p;
BEGIN { p = (char *)100; p = (char *)alloca(8); }
