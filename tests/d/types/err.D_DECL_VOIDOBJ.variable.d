/* There are no variables of type void. */
void v;
BEGIN { exit(0); }
