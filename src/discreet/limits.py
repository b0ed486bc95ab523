"""Every size limit, by name: how far something is listed, compared, convolved or searched, and how long what is given may be.

Beyond a limit the answer is refused in one line, or found in another way. Limits depend on public numbers alone. They are read when
they are needed, as `limits.NAME`, so that a test can lower one.
"""


# --- Lists ------------------------------------------------------------------------------------------------------------

LISTED_OUTCOMES = 5_000_000
"""Longest list of outcomes that is enumerated: some hundred megabytes for three or four categories."""
LISTED_CELLS = 20_000_000
"""Most numbers in such a list, where there are many categories: 160 MB, and a law needs a few copies."""

# --- Numbers and text that are taken ----------------------------------------------------------------------------------

COUNT = 2**53
"""Beyond this a count that came through a float may already have lost records."""
NUMBER_DIGITS = 1000
"""Digits, of a numerator and of a denominator: what can be computed with can be written to a record and read back."""
LABEL_CHARACTERS = 4000
"""Most characters of a label of a category or a group, and of the name of a column."""
RECORD_CELLS = 10_000
"""Cells of a table whose record is JSON, a megabyte or less; larger ones are written to Parquet."""
GROUPS = 10_000_000
"""Most groups of a table: what is counted, drawn and written together must fit the memory of one machine."""
TABLE_CELLS = 50_000_000
"""Most cells of a table, groups by categories: each of its arrays then has at most 400 MB."""
PIECE_CELLS = 1 << 18
"""Cells of a table that are summarised together where its file is read in pieces: some ten megabytes, a few times."""
RECORD_CHARACTERS = 1 << 26
"""Characters of a record."""
FORM_BYTES = 1 << 20
"""Bytes of a form of the page of `discreet explore`: a thousand labels."""
REQUEST_BYTES = 1 << 27
"""Bytes that the page of `discreet explore` may send at once: a record with all its characters, and the form around it."""
OPENED_RECORDS = 8
"""Records that the page of `discreet explore` keeps open, the last ones: with the bytes of a request at most in all."""
OPENED_CELLS = 1_000_000
"""Categories, or cells of a table, of a record that it opens: the intervals of so many take half a minute at most."""
OPENED_CHOICES = 300
"""Categories or groups that it lists to choose from; of more, one is named."""
LEDGER_SPENDS = 200
"""Spends that it lists, the latest ones; those before are one sum."""
LEDGER_DATASETS = 100
"""Datasets of a ledger that it lists; of more, one is named."""
PERIODS = 400
"""Periods that one release reads and is charged to: more than a year of days."""
WRAPPERS = 4
"""Most mechanisms around one another, as in Remapped(Calibrated(...))."""
FACTOR = 10**100
"""Largest factor of a calibrated exponent, and one over the smallest: floats must be able to follow."""
PAGE_ROWS = 60
"""Shares that a figure of a page shows: of more, the largest and the smallest."""
PAGE_PANELS = 12
"""Categories of a table that a page has a figure for."""
NOTE_CHARACTERS = 1000
"""Most characters of the note of a spend."""
ABOUT_CHARACTERS = 1000
"""Characters of a title, a source or another text about a release."""
RULE_VALUES = 10_000
"""Most spellings of which a record says as which category they were counted."""
RULE_CHARACTERS = 1 << 18
"""Most characters of all these spellings and their categories together: a few megabytes in a record, however they are written."""
NAME_CHARACTERS = 200
"""Characters of a dataset's name."""
AMOUNT_DIGITS = 100
"""Most digits of the numerator and of the denominator of an amount: far beyond any use, and sums stay fast."""

# --- Sensitivities and draws ------------------------------------------------------------------------------------------

SMOOTH_CATEGORIES = 1024
"""A smooth sensitivity looks at 3k² leg ends: above this many categories they would fill gigabytes."""
SMOOTH_ENDS = 1 << 22
"""Leg ends looked at together, where there are many datasets."""
SAMPLER_MEGABYTES = 1024
"""Most memory that the tables of a sampler may take."""
DRAWN_RECORDS = 2_000
"""Records up to which an exponential mechanism may list its candidates to draw one: further on two categories draw as fast without."""
DRAWN_CELLS = 1 << 19
"""Counts in the list of all candidates of three or more categories up to which an exponential mechanism lists them to draw one."""
DRAWN_CATEGORIES = 32
"""Categories up to which an exponential mechanism lists its candidates: docs/proofs/exactness.md adds up the errors of so many."""
RAW_OUTCOME = 2**62
"""Noisy counts beyond this, which only a tiny epsilon makes likely, do not fit the arrays that likelihoods are computed in."""
SIMULATED_NOISE = 2.0**55
"""Simulated noise that is likely to go beyond this may not fit an integer array."""

# --- Mechanisms and reports -------------------------------------------------------------------------------------------

GAMMA_DISTANCES = 6_000_000
"""Distances of all candidates from all others, by category, for each γ that a search tries: some seconds for two dozen of them."""
SCORE_CANDIDATES = 2048
"""Above this many candidates the table of all pairwise distances is not formed."""
REPORT_CANDIDATES = 2048
"""Above this many candidates the table of all pairwise distances is not formed."""
REPORT_NODES = 1 << 21
"""Nodes of all categories together that a report is computed on: some 200 MB, and seconds."""
REPORT_LIKELIHOODS = 1 << 22
"""Pairs of an outcome and a dataset whose likelihoods are held at once."""

REPORT_POINTS = 1 << 14
"""Counts that are listed where n is private and they carry all of the posterior that a report is made from."""
REPORT_PAIRS = 1 << 20
"""Pairs of a report and a dataset whose distances are held at once, and up to which all candidates are tried where n is private."""

# --- Privacy losses ---------------------------------------------------------------------------------------------------

LOSS_CANDIDATES = 6_000
"""The most candidates of a computed loss for three or more categories, where the laws of all datasets are held at once: a table of at most
this size squared, 288 MB.
"""
LOSS_RECORDS = 10_000
"""The most records of a computed loss for two categories: a neighbour is the next dataset, two laws are held at a time, and the time is
quadratic in n, some seconds here.
"""
LOSS_COMPARISONS = 600_000_000
"""The most probabilities that a computed loss for three or more categories compares or looks up; some seconds."""
FILTER_RECORDS = 10_000
"""Laws of more records are not gone through while someone waits for a release: their ε is charged for."""
COMPOSED_RELEASES = 100_000
"""Releases in all up to which profiles are composed: the grid of their sum grows with their root, and a second goes by here."""
AUDITED_CELLS = 20_000_000
"""Numbers in all outcomes that are drawn: some hundred megabytes while they are told apart."""

# --- Errors -----------------------------------------------------------------------------------------------------------

ERROR_PAIRS = 10_000_000
"""Pairs of a dataset and an outcome of two categories that are gone through: a second or two, and a comparison goes through nine tables."""
ERROR_REPORTS = 2_000_000
"""Pairs of a dataset and an outcome that are gone through where every dataset has outcomes of its own, each of which is reported."""
ERROR_SEARCHES = 30_000_000
"""Distances that are computed in search of the remapped reports of one mean: some seconds."""
TABLED_TOTALS = 200_000
"""Totals whose gaps are tabled; beyond, those that occur are computed."""
ERROR_CANDIDATES = 10_000
"""Up to here listing the candidates is as fast as the convolutions."""
ERROR_CONVOLUTIONS = 1_000_000
"""Work of all convolutions of a mean, each k (n + `_CONVOLUTION_ITSELF`): some seconds."""
ERROR_RECORDS = 200_000
"""Records up to which all counts of two categories are gone through; beyond, nodes stand for them."""
ERROR_VALUES = 2_000_000
"""Values of an error, or counts of simulated releases, that are held at once; a law with more values is rounded."""
TABLED_RECORDS = 20_000
"""Records up to which tables of gaps are worth building."""
CONVOLVED_RECORDS = 200_000
"""Records up to which mean errors are found by convolutions."""

# --- The linear program, comparisons and plans ------------------------------------------------------------------------

PROGRAM_CANDIDATES = 110
"""Candidates up to which the linear program is solved: it has this number squared of variables."""
PROGRAM_CONSTRAINTS = 60_000
"""Most constraints of the linear program, one for each pair of neighbouring datasets and each candidate: some ten seconds."""
PROGRAM_EPSILON = 20
"""Largest ε of the linear program: beyond it the least error is below what the solver tells from 0 (its tolerance is 1e-10)."""
COMPARED_CONSTRAINTS = 25_000
"""Up to here `compare` solves the linear program; it takes a few seconds."""
PLANNED_RECORDS = 2**40
"""Most records that a plan proposes."""
WIDTH_CATEGORIES = 200
"""Categories of a mechanism that leaves one count without noise, where widths of intervals are simulated: seconds, and a gigabyte."""
WIDTH_CANDIDATES = 1_200
"""Up to this many possible counts the widths of intervals are found from a table of all datasets and outcomes: some seconds."""

# --- Noise-aware posteriors -------------------------------------------------------------------------------------------

POSTERIOR_CANDIDATES = 4_000
"""Up to this many possible counts the posterior lists them all, whatever the mechanism."""
POSTERIOR_RECORDS = 10_000
"""Records of two categories up to which the posterior lists all possible counts: there a law is short."""
LIKELIHOOD_CANDIDATES = 100_000
"""Up to this many possible counts the likelihoods of exponential mechanisms are added up from tables, for each: a minute at most."""
LIKELIHOOD_RECORDS = 100_000
"""Records of two categories up to which such likelihoods are added up, by windows: some ten seconds."""
LIKELIHOOD_CATEGORIES = 64
"""Categories up to which such likelihoods are added up; beyond, sensitivities of all possible counts would take longer."""
QUICK_PAIRS = 100_000_000
"""Pairs of a possible dataset and a candidate whose distances take a second or two."""
DIRECT_CONVOLUTION = 1 << 26
"""Longest convolution, in products, that is added up directly."""
WINDOW_TAIL = 1e-30
"""Tilted probability left out on each side of a window: small because the bound on what is omitted divides it by P(Σ X = n)."""
WINDOW_CELLS = 1 << 20
"""Widest range of counts that is held cell by cell: the noise of ε = 0.001 needs about 2^18."""
WINDOW_CONVOLUTIONS = 1 << 28
"""Cells of the laws of all totals, one total for each category: half a minute at a thousand categories and the noise of ε = 1."""
WINDOWS_HELD = 1 << 25
"""Cells of all windows together, which are all held: 256 MB."""
LEVEL_PRODUCTS = 1 << 36
"""Products, by a bound before the draw, of sums of counts that were measured at several levels: about half a minute."""
GROUPS_CONVOLVED = 1_000
"""Groups of a table whose sizes are tied by a public total, where single groups are asked for: the law of each one's size takes some
hundredths of a second, twice. Summaries of all groups at once have no such limit."""
GROUP_PRODUCTS = 1 << 35
"""Products of all sums over groups whose sizes are tied by a public total: half a minute."""
TOTAL_PERIOD = 1 << 23
"""Values that the total of all groups may have under the noise, where only that total is public: 64 MB, a few times."""
TURN_CELLS = 1 << 23
"""Sizes of a group by frequencies of the total that are held as a matrix, where only that total is public; beyond, transforms are fast."""
TRANSFORM_CELLS = 1 << 24
"""Categories of one group by values of a count, or of their total, where all groups are summarised at once: 128 MB, some times."""
LISTED_COUNTS = 1 << 11
"""Values of a count up to which the likelihoods of all of them are listed, where they are no function of a difference."""
LISTED_FACTORS = 1 << 20
"""Such values of all counts of a table together: 8 MB, a few times."""
PLANE_CELLS = 1 << 24
"""Pairs of a count and a rest of one cell where all groups are summarised at once: 128 MB, a few times, and a second."""
PLANE_PAIRS = 40_000
"""Pairs of a count and a rest of one cell above which groups are summarised one at a time, which is faster."""
PLANE_COMPONENTS = 1 << 17
"""Pairs of a count and a rest of one cell whose Betas are held as one mixture: seconds."""
SUMMARY_WORK = 1 << 22
"""Groups by categories by values of a count, where groups are summarised one at a time because the noise is too wide for all at once, or
because the bound on the error of all at once is too large: a minute or two."""
GROUPS_ADDED = 10_000
"""Groups of a table that draws and sums of true counts go through one at a time: a minute or two."""
SUM_CELLS = 1 << 22
"""Values of a sum of counts and of a total that are transformed together, where groups are tied by a public total: 64 MB, a few times."""
SUM_TRANSFORMS = 1 << 28
"""Such values for all groups and categories that are added up, one after the other: half a minute."""
TABLE_DRAWS = 1 << 26
"""Cells of all draws of a table: 512 MB of counts."""
RANKED_GROUPS = 2_000
"""Groups that are ranked in every draw: the probabilities of all ranks are then 32 MB."""
LEVELS = 10
"""Levels of nested categories. The losses of all of them together are listed: three times as many with every level."""
GROUPS_HELD = 64
"""Posteriors of groups that are kept once they are computed."""
POOLED_COUNTS = 1 << 25
"""Possible counts of all cells whose likelihoods are held while the shares of groups are pooled: 256 MB, a few times."""
POOLED_WORK, POOLED_DRAWN_WORK = 1 << 27, 1 << 25
"""Products of counts for one point of mean and strength, where there are some hundred points or a thousand draws: a minute or so."""
POOLED_NODES = 20_000
"""Points of mean and strength at which the evidence of all groups is computed."""
FACTOR_OUTCOMES = 500
"""Outcomes of a table whose Bayes factors are all computed: some seconds. Beyond, outcomes are drawn."""
POOLED_POINTS = 1 << 19
"""Possible counts of one of several releases about different records that are listed, out to where next to no probability is left."""
POOLED_CELLS = 1 << 22
"""Possible sums of such counts: 32 MB, a few times."""
POOLED_PRODUCTS = 1 << 27
"""Pairs of counts of two releases whose sums are weighted, one after the other: some seconds. Beyond, there are draws."""
CHAIN_STEPS = 1 << 26
"""Steps of all Markov chains by categories and releases, where several releases are read by draws: a minute."""
NOISE_PLACES = 2_000_000
"""Values of the noise of several counts together that are gone through on either side: about a second."""
MIXTURE_CELLS = 1 << 23
"""Pairs of a count and a total in the law of one category's probability where n is private: 64 MB, some ten times."""
LEAST_PRIOR = 1e-8
"""Least prior parameter where n is private: counts above 0 have about so much less weight than 0, and rounding is relative to all."""
SIZE_WEIGHTS = 1 << 24
"""Longest array of log weights of a private n."""
DENSITY_INTERVALS = 500
"""Categories whose highest density intervals are found: each takes about a tenth of a second, or more where there is much noise."""
COVARIANCE_PRODUCTS = 1 << 34
"""Pairs of categories by values of a count and of the total, which their covariances are added up from: some ten seconds."""
CONTRAST_CELLS = 1 << 28
"""Densities of components on panels that the exact law of a contrast is computed from: some seconds."""
CONTRAST_PAIRS = 1 << 24
"""Pairs of counts of two categories, or of sizes of two groups, whose weights are held for a contrast: 128 MB, a few times."""
CONTRASTS = 2_000
"""Comparisons of groups in one frame: all pairs of 63 groups."""
GROUPS_COMPARED = 200
"""Groups that `discreet show` compares with a reference group: each takes a tenth of a second, or a few where a total ties them."""
GROUP_SIZES = 200
"""Groups whose private sizes `discreet show` tells: each takes some hundredths of a second."""
