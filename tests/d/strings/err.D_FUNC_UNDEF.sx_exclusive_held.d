/* sx_exclusive_held exists only on other systems. */
BEGIN { x = sx_exclusive_held(0); }
