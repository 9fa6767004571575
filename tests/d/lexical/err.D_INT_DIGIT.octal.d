/* An octal integer has no digit 8. */
BEGIN { x = 08; }
