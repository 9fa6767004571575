/* Only a name can be called. */
BEGIN { x = (5)(); }
