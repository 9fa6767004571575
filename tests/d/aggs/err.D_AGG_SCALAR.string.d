/* A string is not summed. */
BEGIN { @a = sum("a"); }
