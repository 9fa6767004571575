/* An aggregating function cannot be read like a variable. */
BEGIN { x = count; }
