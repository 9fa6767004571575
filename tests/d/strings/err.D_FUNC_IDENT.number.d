/* Only a name is called. */
BEGIN { x = (5)(); }
