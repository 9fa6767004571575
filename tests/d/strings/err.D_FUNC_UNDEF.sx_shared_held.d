/* sx_shared_held exists only on other systems. */
BEGIN { x = sx_shared_held(0); }
