/* A cast cannot contain short twice. */
BEGIN { trace((short short int)1); }
