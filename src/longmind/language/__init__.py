"""English text analysis: words, sentences, numbers, dates and tense. Knows neither storage nor models."""
