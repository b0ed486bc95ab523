(* Laws on any set, the probability of an event, and differential privacy. *)
From Coq Require Import Reals Lra List.
From Discreet Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Record law (A : Type) := Law { mass :> A -> R; mass_nonneg : nonneg mass; mass_total : sums mass 1 }.
Arguments mass {A}. Arguments mass_nonneg {A}. Arguments mass_total {A}. Arguments Law {A}.

Lemma event_sum {A} (p : law A) (E : A -> Prop) : {s | sum_over E p s}.
Proof.
  apply (sum_over_exists E p 1). intros l n i. apply (sum_over_bound _ _ _ l (mass_total p) n). unfold everything; auto.
Qed.

(* The probability of an event. *)
Definition Pr {A} (p : law A) (E : A -> Prop) : R := let s : {s | sum_over E p s} := event_sum p E in proj1_sig s.
Lemma Pr_sum {A} (p : law A) E : sum_over E p (Pr p E).
Proof. exact (proj2_sig (event_sum p E)). Qed.

Lemma Pr_le_1 {A} (p : law A) E : Pr p E <= 1.
Proof. apply (sum_over_subset E everything p _ _ (Pr_sum p E) (mass_total p)). unfold everything; auto. Qed.
Lemma Pr_nonneg {A} (p : law A) E : 0 <= Pr p E.
Proof. apply (sum_over_nonneg _ _ _ (Pr_sum p E)). Qed.
Lemma Pr_everything {A} (p : law A) : Pr p everything = 1.
Proof. apply (sum_over_unique _ _ _ _ (Pr_sum p everything) (mass_total p)). Qed.
Lemma Pr_one {A} (p : law A) a : Pr p (fun b => b = a) = p a.
Proof. apply (sum_over_unique _ _ _ _ (Pr_sum p _)). apply sum_over_single, mass_nonneg. Qed.

Lemma mass_le_1 {A} (p : law A) a : p a <= 1.
Proof. rewrite <- Pr_one. apply Pr_le_1. Qed.

(* A mechanism gives every dataset a law of outcomes. It is (eps, delta)-private if no event is much more probable under a neighbour. *)
Definition relation (X : Type) := X -> X -> Prop.
Definition symmetric {X} (adj : relation X) := forall x y, adj x y -> adj y x.
Definition approximately_private {X A} (adj : relation X) (eps delta : R) (M : X -> law A) :=
  forall x y, adj x y -> forall E, Pr (M x) E <= exp eps * Pr (M y) E + delta.
Definition private {X A} (adj : relation X) (eps : R) (M : X -> law A) :=
  forall x y, adj x y -> forall E, Pr (M x) E <= exp eps * Pr (M y) E.

Lemma private_approximately {X A} adj eps (M : X -> law A) : private adj eps M <-> approximately_private adj eps 0 M.
Proof. split; intros h x y a E; specialize (h x y a E); lra. Qed.

Lemma Pr_ratio {A} (p q : law A) c : 0 <= c -> (forall a, p a <= c * q a) -> forall E, Pr p E <= c * Pr q E.
Proof.
  intros c0 h E. apply (sum_over_le E p (fun a => c * q a) _ _ (Pr_sum p E)); [|auto].
  apply sum_over_scale; [exact c0|apply Pr_sum].
Qed.

(* For eps-privacy outcomes are enough. *)
Lemma private_pointwise {X A} adj eps (M : X -> law A) :
  private adj eps M <-> forall x y, adj x y -> forall a, M x a <= exp eps * M y a.
Proof.
  split; intros h x y n.
  - intros a. rewrite <- !Pr_one. apply h, n.
  - apply Pr_ratio; [left; apply exp_pos|apply h, n].
Qed.

Lemma exp_le u v : u <= v -> exp u <= exp v.
Proof. intros [h|h]; [left; apply exp_increasing; exact h|subst; apply Rle_refl]. Qed.

Lemma private_weaken {X A} adj eps eps' (M : X -> law A) : eps <= eps' -> private adj eps M -> private adj eps' M.
Proof.
  intros le h x y a E. apply Rle_trans with (1 := h x y a E). apply Rmult_le_compat_r; [apply Pr_nonneg|apply exp_le, le].
Qed.

(* The law with given weights, and its normaliser. *)
Program Definition normalised {A} (w : A -> R) (Z : R) (w_nonneg : nonneg w) (total : sums w Z) (Z_pos : 0 < Z) : law A :=
  {| mass := fun a => / Z * w a |}.
Next Obligation. intros a. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; assumption|auto]. Qed.
Next Obligation. rewrite <- (Rinv_l Z) by lra. apply sum_over_scale; [left; apply Rinv_0_lt_compat; assumption|assumption]. Qed.

(* The law of one certain outcome, needed where nothing is drawn. *)
Program Definition certain {A} (equal : forall a b : A, {a = b} + {a <> b}) (a : A) : law A :=
  {| mass := fun b => if equal b a then 1 else 0 |}.
Next Obligation. intros b. destruct (equal b a); lra. Qed.
Next Obligation.
  apply (sum_over_support (fun b => b = a)).
  - intros b. destruct (equal b a); lra.
  - intros b n. destruct (equal b a); [contradiction|reflexivity].
  - pose proof (sum_over_single (fun b => if equal b a then 1 else 0) a) as h. cbv beta in h.
    destruct (equal a a); [|congruence]. apply h. intros b. destruct (equal b a); lra.
Qed.

(* The law of a function of an outcome. *)
Program Definition image {A B} (g : A -> B) (p : law A) : law B := {| mass := fun b => Pr p (fun a => g a = b) |}.
Next Obligation. intros b. apply Pr_nonneg. Qed.
Next Obligation. apply (sums_of_parts p g); [intros b; apply Pr_sum|apply mass_total]. Qed.

Lemma Pr_image {A B} (g : A -> B) (p : law A) E : Pr (image g p) E = Pr p (fun a => E (g a)).
Proof.
  apply (sum_over_unique (fun a => E (g a)) p); [|apply Pr_sum].
  apply (sum_of_parts p g (image g p)); [intros b; apply Pr_sum|apply Pr_sum].
Qed.

(* The law of a pair whose second part is drawn in view of the first. *)
Program Definition pair_law {A B} (p : law A) (q : A -> law B) : law (A * B) := {| mass := fun ab => p (fst ab) * q (fst ab) (snd ab) |}.
Next Obligation. intros [a b]. apply Rmult_le_pos; apply mass_nonneg. Qed.
Next Obligation.
  apply (sums_pairs (fun a b => p a * q a b) p); [|apply mass_total].
  intros a. pose proof (sum_over_scale everything (q a) 1 (p a) (mass_nonneg p a) (mass_total (q a))) as h. rewrite Rmult_1_r in h. exact h.
Qed.
