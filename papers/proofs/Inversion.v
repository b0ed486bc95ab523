(* Certified inversion: a uniform number, of which ever more bits are drawn, is compared with enclosures of a law's boundaries. *)
From Coq Require Import Reals Lra List ZArith Lia Bool.
From Discreet Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Definition range (a : Z) (n : nat) : list Z := map (fun i => (a + Z.of_nat i)%Z) (seq 0 n).
Definition words (bits : nat) : list Z := range 0 (2 ^ bits).

Lemma in_range a n v : In v (range a n) <-> (a <= v < a + Z.of_nat n)%Z.
Proof.
  unfold range. rewrite in_map_iff. split.
  - intros [i [e h]]. apply in_seq in h. lia.
  - intros h. exists (Z.to_nat (v - a)). split; [lia|]. apply in_seq. lia.
Qed.

Lemma range_length a n : length (range a n) = n.
Proof. unfold range. rewrite map_length, seq_length. reflexivity. Qed.

Lemma range_nodup a n : NoDup (range a n).
Proof.
  unfold range. assert (G : forall b, NoDup (map (fun i => (a + Z.of_nat i)%Z) (seq b n))); [|apply G].
  induction n as [|n IH]; intros b; simpl; constructor; [|apply IH].
  rewrite in_map_iff. intros [i [e h]]. apply in_seq in h. lia.
Qed.

Lemma in_words bits v : In v (words bits) <-> (0 <= v < 2 ^ Z.of_nat bits)%Z.
Proof. unfold words. rewrite in_range, Nat2Z.inj_pow. simpl. lia. Qed.

Lemma power_nat bits : INR (2 ^ bits) = 2 ^ bits.
Proof. rewrite pow_INR. reflexivity. Qed.

(* At most b - a whole numbers v have a <= v and v + 1 <= b. *)
Lemma few_between (l : list Z) (a b : R) : NoDup l -> a <= b -> (forall v, In v l -> a <= IZR v /\ IZR v + 1 <= b) -> INR (length l) <= b - a.
Proof.
  intros n ab h. destruct l as [|v0 l0] eqn:el; [simpl; lra|]. rewrite <- el in *. clear ab.
  set (A := (- Int_part (- a))%Z). set (B := Int_part b).
  assert (Aa : a <= IZR A < a + 1) by (unfold A; rewrite opp_IZR; destruct (base_Int_part (- a)); lra).
  assert (Bb : b - 1 < IZR B <= b) by (unfold B; destruct (base_Int_part b); lra).
  assert (i : forall v, In v l -> (A <= v < B)%Z).
  { intros v q. destruct (h v q) as [u w]. split.
    - assert (IZR A < IZR (v + 1)) as r by (rewrite plus_IZR; lra). apply lt_IZR in r. lia.
    - assert (IZR v < IZR B) as r by lra. apply lt_IZR in r. lia. }
  assert (AB : (A <= B)%Z) by (pose proof (i v0); rewrite el in H; specialize (H (or_introl eq_refl)); lia).
  assert (length l <= length (range A (Z.to_nat (B - A))))%nat as len.
  { apply NoDup_incl_length; [exact n|]. intros v q. apply in_range. specialize (i v q). lia. }
  rewrite range_length in len. apply le_INR in len. rewrite INR_IZR_INZ, INR_IZR_INZ, Z2Nat.id in len by lia. rewrite minus_IZR in len.
  rewrite INR_IZR_INZ. lra.
Qed.

Section Draws.
Variables (c : nat -> R) (bits : nat -> nat) (low high : nat -> nat -> Z) (slack : R) (drawn : nat -> Z -> option nat).
(* The boundaries: c j is the probability of an outcome below j. *)
Hypothesis boundaries : forall j, c j <= c (S j).
(* At stage t there are bits t bits, at least t of them, and integers that enclose every boundary, ever more tightly. *)
Hypothesis more_bits : forall t, (t <= bits t)%nat.
Hypothesis enclosed : forall t j, IZR (low t j) <= c j * 2 ^ bits t <= IZR (high t j).
Hypothesis tight : forall t j, IZR (high t j) - IZR (low t j) <= slack.
(* j is only returned if every number that begins with the word has j, and something is returned once the enclosures tell. *)
Hypothesis sound : forall t v j, drawn t v = Some j -> c j * 2 ^ bits t <= IZR v /\ IZR v + 1 <= c (S j) * 2 ^ bits t.
Hypothesis live : forall t v j, In v (words (bits t)) -> (high t j <= v < low t (S j))%Z -> drawn t v <> None.
(* The boundaries are probabilities, and their enclosures are kept within words. *)
Hypothesis within_words : forall t j, (0 <= high t j)%Z /\ (low t j <= 2 ^ Z.of_nat (bits t))%Z.

Definition returns (t j : nat) (v : Z) : bool := match drawn t v with Some i => (i =? j)%nat | None => false end.

(* The probability that j has been returned at stage t: the share of words for which it has. *)
Definition share (t j : nat) : R := INR (length (filter (returns t j) (words (bits t)))) / 2 ^ bits t.

Lemma returns_spec t j v : returns t j v = true <-> drawn t v = Some j.
Proof. unfold returns. destruct (drawn t v) as [i|]; [rewrite Nat.eqb_eq|]; split; congruence. Qed.

Lemma boundaries_rise i j : (i <= j)%nat -> c i <= c j.
Proof. intros h. induction h as [|j h IH]; [lra|]. pose proof (boundaries j). lra. Qed.

Let unit t : 0 < 2 ^ bits t.
Proof. apply pow_lt. lra. Qed.

Lemma share_above t j : share t j <= c (S j) - c j.
Proof.
  unfold share. apply Rmult_le_reg_r with (2 ^ bits t); [apply unit|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (pose proof (unit t); lra).
  rewrite Rmult_minus_distr_r. apply few_between.
  - apply NoDup_filter, range_nodup.
  - apply Rmult_le_compat_r; [left; apply unit|apply boundaries].
  - intros v h. apply filter_In in h. apply sound, returns_spec, h.
Qed.

Lemma decided t j v : In v (words (bits t)) -> (high t j <= v < low t (S j))%Z -> drawn t v = Some j.
Proof.
  intros w h. pose proof (live t v j w h) as some. destruct (drawn t v) as [i|] eqn:e; [|congruence]. f_equal.
  destruct (sound t v i e) as [a b]. destruct h as [h1 h2]. apply IZR_le in h1. assert (v + 1 <= low t (S j))%Z as h3 by lia.
  apply IZR_le in h3. rewrite plus_IZR in h3. destruct (enclosed t j) as [_ cj]. destruct (enclosed t (S j)) as [cj' _].
  destruct (Nat.lt_trichotomy i j) as [q|[q|q]]; [|exact q|].
  - pose proof (Rmult_le_compat_r _ _ _ (Rlt_le _ _ (unit t)) (boundaries_rise (S i) j q)). lra.
  - pose proof (Rmult_le_compat_r _ _ _ (Rlt_le _ _ (unit t)) (boundaries_rise (S j) i q)). lra.
Qed.

Lemma share_below t j : c (S j) - c j - 2 * slack / 2 ^ bits t <= share t j.
Proof.
  apply Rmult_le_reg_r with (2 ^ bits t); [apply unit|]. unfold share.
  replace ((c (S j) - c j - 2 * slack / 2 ^ bits t) * 2 ^ bits t) with (c (S j) * 2 ^ bits t - c j * 2 ^ bits t - 2 * slack)
    by (field; pose proof (unit t); lra).
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (pose proof (unit t); lra).
  assert (G : IZR (low t (S j)) - IZR (high t j) <= INR (length (filter (returns t j) (words (bits t))))).
  { destruct (Z.le_gt_cases (low t (S j)) (high t j)) as [le|gt].
    - apply IZR_le in le. pose proof (pos_INR (length (filter (returns t j) (words (bits t))))). lra.
    - rewrite <- minus_IZR. rewrite <- (Z2Nat.id (low t (S j) - high t j)) by lia. rewrite <- INR_IZR_INZ. apply le_INR.
      rewrite <- (range_length (high t j) (Z.to_nat (low t (S j) - high t j))). apply NoDup_incl_length; [apply range_nodup|].
      intros v h. apply in_range in h. destruct (within_words t j) as [w0 _]. destruct (within_words t (S j)) as [_ w1].
      assert (In v (words (bits t))) as w by (apply in_words; lia). apply filter_In. split; [exact w|].
      apply returns_spec, decided; [exact w|lia]. }
  destruct (enclosed t j) as [e1 e2]. destruct (enclosed t (S j)) as [e3 e4]. pose proof (tight t j). pose proof (tight t (S j)). lra.
Qed.

(*| inversion_draws
Certified inversion draws the stated law. For words of any length and any number of further bits at a time, let $c_j = P(X < j)$ and let integers enclose every $c_j 2^b$, to within a constant number of units, for the $b$ bits that are known. A procedure that returns $j$ only if all numbers that begin with the known bits lie in $[c_j, c_{j+1})$, and returns something once the enclosures tell, returns $j$ with a probability that is never above $c_{j+1} - c_j$ and tends to it. The support may be infinite.
papers: none
python: discreet.sampling.noise.Inversion
by hand: that `Inversion.settle` is such a procedure (hypotheses `sound` and `live`, [exactness](exactness.md)); that python-flint's balls enclose what they are computed from; that the operating system's bits are uniform.
test: test_inversion_world
|*)
Theorem inversion_draws (j : nat) : (forall t, share t j <= c (S j) - c j) /\ Un_cv (fun t => share t j) (c (S j) - c j).
Proof.
  split; [intros t; apply share_above|]. intros e e0.
  assert (s0 : 0 <= slack) by (pose proof (enclosed 0 0); pose proof (tight 0 0); lra).
  destruct (pow_lt_1_zero (/ 2)) with (y := e / (2 * slack + 1)) as [n h]; [rewrite Rabs_pos_eq; lra|apply Rdiv_lt_0_compat; lra|].
  exists n. intros t tn. pose proof (share_above t j). pose proof (share_below t j).
  unfold R_dist. rewrite Rabs_minus_sym, Rabs_pos_eq by lra.
  assert (more : (n <= bits t)%nat) by (pose proof (more_bits t); lia). specialize (h (bits t) more).
  rewrite Rabs_pos_eq in h by (apply pow_le; lra). rewrite pow_inv in h.
  apply Rle_lt_trans with (2 * slack / 2 ^ bits t); [lra|].
  assert (0 < / 2 ^ bits t) by (apply Rinv_0_lt_compat, unit).
  apply Rle_lt_trans with ((2 * slack + 1) * / 2 ^ bits t); [apply Rmult_le_compat_r; lra|].
  apply Rmult_lt_compat_l with (r := 2 * slack + 1) in h; [|lra].
  replace ((2 * slack + 1) * (e / (2 * slack + 1))) with e in h by (field; lra). exact h.
Qed.
End Draws.

(* The procedure itself for a finite support 0 .. n - 1: count the boundaries that are at or below the word for certain, and see whether the
   next one is above it for certain; if not, take one more bit. *)
Section Table.
Variables (n first : nat) (c : nat -> R) (low high : nat -> nat -> Z) (slack : R).

Definition locate (bits : nat) (w : Z) : option nat :=
  let i := length (filter (fun j => (high bits j <=? w)%Z) (seq 1 (n - 1))) in if (w <? low bits (S i))%Z then Some i else None.

Fixpoint searched (more : nat) (w : Z) : option nat :=
  match more with
  | O => locate first w
  | S less => match searched less (w / 2) with Some j => Some j | None => locate (first + more) w end
  end.

Hypothesis some : (0 < n)%nat.
Hypothesis boundaries : forall j, c j <= c (S j).
Hypothesis enclosed : forall bits j, IZR (low bits j) <= c j * 2 ^ bits <= IZR (high bits j).
Hypothesis tight : forall bits j, IZR (high bits j) - IZR (low bits j) <= slack.
Hypothesis rising : forall bits j, (high bits j <= high bits (S j))%Z.
Hypothesis exact_ends : forall bits, high bits 0 = 0%Z /\ forall j, (n <= j)%nat -> low bits j = (2 ^ Z.of_nat bits)%Z /\ high bits j = (2 ^ Z.of_nat bits)%Z.
Hypothesis low_below : forall bits j, (low bits j <= 2 ^ Z.of_nat bits)%Z.

Let rises bits i j : (i <= j)%nat -> (high bits i <= high bits j)%Z.
Proof. intros h. induction h as [|j h IH]; [lia|]. pose proof (rising bits j). lia. Qed.

Lemma counted bits w i : (i < n)%nat -> (high bits i <= w)%Z -> (w < high bits (S i))%Z ->
  length (filter (fun j => (high bits j <=? w)%Z) (seq 1 (n - 1))) = i.
Proof.
  intros b h1 h2. replace (n - 1)%nat with (i + (n - 1 - i))%nat by lia. rewrite seq_app, filter_app, app_length.
  assert (G1 : filter (fun j => (high bits j <=? w)%Z) (seq 1 i) = seq 1 i).
  { assert (F : forall l, (forall j, In j l -> (j <= i)%nat) -> filter (fun j => (high bits j <=? w)%Z) l = l).
    { induction l as [|j l IH]; simpl; intros k; [reflexivity|]. pose proof (rises bits j i (k j (or_introl eq_refl))).
      destruct (Z.leb_spec (high bits j) w); [f_equal; apply IH; auto|lia]. }
    apply F. intros j q. apply in_seq in q. lia. }
  assert (G2 : filter (fun j => (high bits j <=? w)%Z) (seq (1 + i) (n - 1 - i)) = []).
  { assert (F : forall l, (forall j, In j l -> (S i <= j)%nat) -> filter (fun j => (high bits j <=? w)%Z) l = []).
    { induction l as [|j l IH]; simpl; intros k; [reflexivity|]. pose proof (rises bits (S i) j (k j (or_introl eq_refl))).
      destruct (Z.leb_spec (high bits j) w); [lia|apply IH; auto]. }
    apply F. intros j q. apply in_seq in q. lia. }
  rewrite G1, G2, seq_length. simpl. lia.
Qed.

(* The count stands for boundaries that are at or below the word. *)
Lemma counted_below bits w : (0 <= w)%Z -> let i := length (filter (fun j => (high bits j <=? w)%Z) (seq 1 (n - 1))) in (high bits i <= w)%Z /\ (i < n)%nat.
Proof.
  intros w0. destruct (exact_ends bits) as [h0 _].
  assert (G : forall k, (high bits (length (filter (fun j => (high bits j <=? w)%Z) (seq 1 k))) <= w)%Z /\ (length (filter (fun j => (high bits j <=? w)%Z) (seq 1 k)) <= k)%nat).
  { induction k as [|k [IH1 IH2]]; [simpl; lia|]. rewrite seq_S, filter_app, app_length. cbn [filter length Nat.add].
    destruct (Z.leb_spec (high bits (S k)) w) as [le|gt]; cbn [length].
    - split; [|lia]. assert (rr := rises bits (length (filter (fun j => (high bits j <=? w)%Z) (seq 1 k)) + 1) (S k)). lia.
    - rewrite Nat.add_0_r. split; [exact IH1|lia]. }
  destruct (G (n - 1)%nat) as [a b]. split; [exact a|lia].
Qed.

Lemma locate_sound bits w j : (0 <= w)%Z -> locate bits w = Some j -> c j * 2 ^ bits <= IZR w /\ IZR w + 1 <= c (S j) * 2 ^ bits.
Proof.
  intros w0. unfold locate. destruct (counted_below bits w w0) as [h _]. set (i := length _) in *.
  destruct (Z.ltb_spec w (low bits (S i))) as [lt|ge]; [|discriminate]. intros e. injection e as <-.
  destruct (enclosed bits i) as [_ a]. destruct (enclosed bits (S i)) as [b _]. apply IZR_le in h.
  assert (w + 1 <= low bits (S i))%Z as lt' by lia. apply IZR_le in lt'. rewrite plus_IZR in lt'. lra.
Qed.

Lemma locate_live bits w j : (0 <= w < 2 ^ Z.of_nat bits)%Z -> (high bits j <= w < low bits (S j))%Z -> locate bits w <> None.
Proof.
  intros [w0 w1] [a b]. assert (jn : (j < n)%nat).
  { destruct (Nat.lt_ge_cases j n) as [h|h]; [exact h|]. destruct (exact_ends bits) as [_ e]. destruct (e j h). lia. }
  assert (lh : (low bits (S j) <= high bits (S j))%Z) by (apply le_IZR; destruct (enclosed bits (S j)); lra).
  unfold locate. rewrite (counted bits w j jn a) by lia. destruct (Z.ltb_spec w (low bits (S j))); [discriminate|lia].
Qed.

Lemma searched_sound more w j : (0 <= w)%Z -> searched more w = Some j ->
  c j * 2 ^ (first + more) <= IZR w /\ IZR w + 1 <= c (S j) * 2 ^ (first + more).
Proof.
  revert w. induction more as [|more IH]; intros w w0; cbn [searched].
  - rewrite Nat.add_0_r. apply locate_sound, w0.
  - destruct (searched more (w / 2)) as [i|] eqn:e; intros q; [|apply locate_sound; assumption].
    injection q as ->. destruct (IH (w / 2)%Z) as [a b]; [apply Z.div_pos; lia|exact e|].
    pose proof (Z.div_mod w 2 ltac:(lia)) as dm. pose proof (Z.mod_pos_bound w 2 ltac:(lia)) as mb.
    assert (2 * (w / 2) <= w)%Z as l1 by lia. assert (w + 1 <= 2 * (w / 2 + 1))%Z as l2 by lia.
    apply IZR_le in l1, l2. rewrite mult_IZR in l1, l2. rewrite !plus_IZR in l2.
    rewrite Nat.add_succ_r. simpl. lra.
Qed.

Lemma searched_live more w j : (0 <= w < 2 ^ Z.of_nat (first + more))%Z -> (high (first + more) j <= w < low (first + more) (S j))%Z -> searched more w <> None.
Proof.
  intros r h. destruct more as [|more]; cbn [searched].
  - rewrite Nat.add_0_r in *. apply (locate_live first w j); assumption.
  - destruct (searched more (w / 2)); [discriminate|]. apply (locate_live _ w j); assumption.
Qed.

(*| table_draws
The procedure that compares words with a table draws its law. For a law on $0, \dots, n - 1$, after $t$ further bits the share of words for which it has returned $j$ is at most $P(X = j) = c_{j+1} - c_j$, and tends to it. The word may have any length `first`.
papers: none
python: discreet.sampling.noise.Inversion
by hand: as for `inversion_draws`; the implementation takes several further bits at a time, which `inversion_draws` covers.
test: test_inversion_world
|*)
Theorem table_draws (j : nat) (seen := share (fun t => (first + t)%nat) (fun t w => if (0 <=? w)%Z then searched t w else None)) :
  (forall t, seen t j <= c (S j) - c j) /\ Un_cv (fun t => seen t j) (c (S j) - c j).
Proof.
  apply (inversion_draws c (fun t => (first + t)%nat) (fun t => low (first + t)) (fun t => high (first + t)) slack).
  - exact boundaries.
  - intros t. lia.
  - intros t i. apply enclosed.
  - intros t i. apply tight.
  - intros t v i. destruct (Z.leb_spec 0 v); [apply searched_sound; assumption|discriminate].
  - intros t v i w h. apply in_words in w. destruct (Z.leb_spec 0 v); [apply (searched_live t v i); assumption|lia].
  - intros t i. split; [|apply low_below]. destruct (exact_ends (first + t)) as [h0 _]. rewrite <- h0. apply rises. lia.
Qed.

Hypothesis begins : c 0%nat = 0.

Lemma limits_add (f : nat -> nat -> R) (g : nat -> R) l : (forall j, Un_cv (fun t => f t j) (g j)) -> Un_cv (fun t => sum (f t) l) (sum g l).
Proof.
  intros h. induction l as [|j l IH]; simpl.
  - intros e e0. exists 0%nat. intros t _. unfold R_dist. rewrite Rminus_0_r, Rabs_R0. exact e0.
  - apply (CV_plus (fun t => f t j) (fun t => sum (f t) l)); auto.
Qed.

Lemma telescope m : sum (fun j => c (S j) - c j) (seq 0 m) = c m - c 0%nat.
Proof. induction m as [|m IH]; [simpl; ring|]. rewrite seq_S, sum_app, IH. simpl. ring. Qed.

(*| table_ends
The procedure ends with probability 1. The share of words for which it has returned something tends to 1.
papers: none
python: discreet.sampling.noise.Inversion
by hand: as for `inversion_draws`; the implementation stops with an error, and releases nothing, if a bound on the precision is reached.
test: test_inversion_world
|*)
Theorem table_ends (seen := share (fun t => (first + t)%nat) (fun t w => if (0 <=? w)%Z then searched t w else None)) :
  Un_cv (fun t => sum (seen t) (seq 0 n)) 1.
Proof.
  assert (e : c n = 1).
  { destruct (exact_ends 0%nat) as [_ x]. destruct (x n (le_n n)) as [l h]. destruct (enclosed 0%nat n) as [a b]. rewrite l in a. rewrite h in b.
    simpl in a, b. lra. }
  replace 1 with (sum (fun j => c (S j) - c j) (seq 0 n)) by (rewrite telescope, e, begins; ring).
  apply limits_add. intros j. apply table_draws.
Qed.
End Table.
