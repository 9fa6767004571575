/* An aggregating function is not read like a variable. */
BEGIN { x = count; }
