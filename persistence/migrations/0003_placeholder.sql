-- Holds the number of the migration that the domains bring; replaced when both are merged.
SELECT 1;
