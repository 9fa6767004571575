/* The operand of . must be a struct or union. */
int i;
BEGIN { i = 1; y = i.a; }
