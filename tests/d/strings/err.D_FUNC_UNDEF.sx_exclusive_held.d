/* sx_exclusive_held belongs to another system. */
BEGIN { x = sx_exclusive_held(0); }
