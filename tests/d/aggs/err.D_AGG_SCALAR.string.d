/* A string cannot be summed. */
BEGIN { @a = sum("a"); }
