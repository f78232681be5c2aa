"""Tables and figures of Ertekin, Bottou, Giles, "Nonconvex online support vector machines", TPAMI 33(2), 2011."""
