/* The result type of a translator must be defined. */
translator struct nowhere < int i > { o = i; };
