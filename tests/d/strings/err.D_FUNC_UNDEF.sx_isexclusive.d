/* sx_isexclusive belongs to another system. */
BEGIN { x = sx_isexclusive(0); }
