/* A hexadecimal integer must fit into 64 bits. */
BEGIN { x = 0x10000000000000000; }
