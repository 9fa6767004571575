/* msgdsize belongs to another system. */
BEGIN { x = msgdsize(0); }
