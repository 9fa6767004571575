/* A constant with an exponent is a floating-point constant. */
BEGIN { x = 1e10; }
