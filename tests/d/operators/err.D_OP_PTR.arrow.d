/* The operand of -> must be a pointer. */
BEGIN { x = 1; y = x->a; }
