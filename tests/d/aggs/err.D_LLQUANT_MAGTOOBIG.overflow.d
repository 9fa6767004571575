/* In llquantize, the factor raised to the power (high magnitude + 1) must fit into 64 bits. */
BEGIN { @a = llquantize(1, 10, 0, 30, 10); }
