/* A character constant must end on the line where it begins. */
BEGIN { x = 'a
'; }
