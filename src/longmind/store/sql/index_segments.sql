-- Segments of the search index: words, vectors and facts of neighbouring atoms. Segments of one kind never overlap.

-- name: put_term_segment
INSERT INTO term_segments (scope_id, space_id, first, atoms, body) VALUES (:scope_id, :space_id, :first, :atoms, :body)
ON CONFLICT (scope_id, space_id, first) DO UPDATE SET atoms = :atoms, body = :body;

-- Segments that hold atoms from a position on. They do not overlap: of those that begin before it only the last can.
-- name: term_segments_from
SELECT first, atoms, body FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first + atoms > :position
  AND first >= COALESCE((
      SELECT MAX(first) FROM term_segments
      WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position
  ), 0)
ORDER BY first;

-- name: term_segments_between
SELECT first, atoms, body FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :first AND first < :until
ORDER BY first;

-- name: term_segment_of
SELECT first, atoms, body FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position AND first + atoms > :position;

-- name: drop_term_segments
DELETE FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :from_position AND first < :to_position;

-- name: put_vector_segment
INSERT INTO vector_segments (scope_id, space_id, model, first, atoms, body)
VALUES (:scope_id, :space_id, :model, :first, :atoms, :body)
ON CONFLICT (scope_id, space_id, model, first) DO UPDATE SET atoms = :atoms, body = :body;

-- name: vector_segments_from
SELECT first, atoms, body FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model AND first + atoms > :position
  AND first >= COALESCE((
      SELECT MAX(first) FROM vector_segments
      WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model AND first <= :position
  ), 0)
ORDER BY first;

-- name: vector_segments_between
SELECT first, atoms, body FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model AND first >= :first AND first < :until
ORDER BY first;

-- name: vector_segments_of
SELECT model, first, body FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position AND first + atoms > :position;

-- The ranges of positions that have vectors of a model.
-- name: vector_spans
SELECT first, atoms, model FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model
ORDER BY first;

-- name: drop_vector_segments
DELETE FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model
  AND first >= :from_position AND first < :to_position;

-- name: drop_other_vectors
DELETE FROM vector_segments WHERE scope_id = :scope_id AND space_id = :space_id AND model <> :model;

-- name: put_fact_segment
INSERT INTO fact_segments (scope_id, space_id, first, atoms, revision, body)
VALUES (:scope_id, :space_id, :first, :atoms, :revision, :body)
ON CONFLICT (scope_id, space_id, first) DO UPDATE SET atoms = :atoms, revision = :revision, body = :body;

-- name: fact_segments_between
SELECT first, atoms, revision, body FROM fact_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :first AND first < :until
ORDER BY first;

-- name: fact_segment_of
SELECT first, revision, body FROM fact_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position AND first + atoms > :position;

-- name: drop_fact_segments
DELETE FROM fact_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :from_position AND first < :to_position;
