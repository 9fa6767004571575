/* A character constant must not be empty. */
BEGIN { x = ''; }
