/* The dot follows a struct. */
int i;
BEGIN { i = 1; y = i.a; }
