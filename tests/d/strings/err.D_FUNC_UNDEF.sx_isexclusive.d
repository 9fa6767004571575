/* sx_isexclusive exists only on other systems. */
BEGIN { x = sx_isexclusive(0); }
