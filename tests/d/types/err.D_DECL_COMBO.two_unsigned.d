/* A cast cannot contain unsigned twice. */
BEGIN { trace((unsigned unsigned int)1); }
