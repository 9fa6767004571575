/* llquantize has as many steps as its factor, or more. */
BEGIN { @a = llquantize(1, 10, 0, 6, 5); }
