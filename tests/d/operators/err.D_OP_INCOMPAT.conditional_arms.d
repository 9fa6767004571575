/* The arms of a conditional have types that go together. */
BEGIN { x = 1 ? "a" : 2; }
