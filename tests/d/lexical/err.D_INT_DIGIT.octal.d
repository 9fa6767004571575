/* An octal integer must not contain the digit 8. */
BEGIN { x = 08; }
