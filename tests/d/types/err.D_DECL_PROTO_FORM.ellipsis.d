/* An ellipsis follows a parameter. */
int (*f)(...);
BEGIN { exit(0); }
