-- Vectors cannot be compressed, and the server would try to for longer than it takes to write them.
ALTER TABLE vector_segments ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE event_vectors ALTER COLUMN body SET STORAGE EXTERNAL;
