/* unsigned is written once. */
BEGIN { trace((unsigned unsigned int)1); }
