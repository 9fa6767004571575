/* sx_shared_held belongs to another system. */
BEGIN { x = sx_shared_held(0); }
