"""Tables I and II of the paper, as printed."""

from __future__ import annotations

#: Samples and features.
SIZES = {
    "cancer": (198, 32),
    "sonar": (208, 60),
    "vote": (232, 16),
    "eukaryotic": (2427, 20),
    "prototask": (8192, 21),
    "reuters": (11_069, 8315),
    "chessboard": (8000, 2),
    "normals": (15_000, 2),
}

#: Average error in percent of SMO (MATLAB's fitcsvm) and of OL SVM, and how many times as fast OL SVM is.
RESULTS = {
    "cancer": (24.00, 25.62, 4.1),
    "sonar": (34.70, 24.35, 3.68),
    "vote": (22.68, 8.09, 1.89),
    "eukaryotic": (36.05, 14.55, 5.67),
    "prototask": (33.57, 11.28, 5.61),
    "reuters": (5.65, 4.48, 4.10),
    "chessboard": (13.62, 4.27, 7.65),
    "normals": (28.25, 7.82, 41.50),
}

#: Figure 6, in words: time of the other over that of OL SVM.
ONLINE = {"norma-literal": 2.0, "pegaz": 4.0}
