/* unsigned may be written only once. */
BEGIN { trace((unsigned unsigned int)1); }
