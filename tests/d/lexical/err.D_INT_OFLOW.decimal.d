/* A decimal integer must fit into 64 bits. */
BEGIN { x = 18446744073709551616; }
