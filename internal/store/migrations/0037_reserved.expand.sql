-- Another branch's place: this file goes when its migration comes.
SELECT 1;
